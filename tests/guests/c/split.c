// A transform on the record plane, in C: a row for each part of a text that commas divide.
//
//   settings: { column: tags }     the text; the default is `tags`
//
// The parts go out in a new column `part`, without the spaces around them. A row without any part is filtered; one with a part of more
// than 64 bytes is refused with the code `part_too_long`. It shows that the contract is not Rust's: a row becomes none, one or many.

#include "record_transform_component.h"

#include <stdlib.h>
#include <string.h>

typedef record_transform_component_string_t string;
typedef sluicebox_component_record_types_value_t value;
typedef sluicebox_component_record_types_reject_t reject;
typedef sluicebox_component_record_types_field_t field;
typedef exports_sluicebox_component_record_transform_row_t row;

enum { PART_BYTES_MAX = 64, COLUMN_BYTES_MAX = 255 };

// The column that is split; set when opened.
static char column[COLUMN_BYTES_MAX + 1] = "tags";

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (size > 0 && memory == NULL) __builtin_trap();
    return memory;
}

static string copy(const void *bytes, size_t len) {
    string result = {allocate(len), len};
    if (len > 0) memcpy(result.ptr, bytes, len);
    return result;
}

static string text(const char *words) { return copy(words, strlen(words)); }

static bool same(string a, const char *b) { return a.len == strlen(b) && memcmp(a.ptr, b, a.len) == 0; }

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
    return at;
}

// Reads `{}` or `{"column":"name"}`, the name without escapes; anything else is no setting of this component.
static bool read_settings(string settings) {
    static const char key[] = "\"column\"";
    const uint8_t *end = settings.ptr + settings.len;
    const uint8_t *at = skip_space(settings.ptr, end);
    if (at == end || *at++ != '{') return false;
    at = skip_space(at, end);
    if (at < end && *at == '}') return skip_space(at + 1, end) == end;
    if ((size_t)(end - at) < sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0) return false;
    at = skip_space(at + sizeof key - 1, end);
    if (at == end || *at++ != ':') return false;
    at = skip_space(at, end);
    if (at == end || *at++ != '"') return false;
    const uint8_t *name = at;
    while (at < end && *at != '"' && *at != '\\') at++;
    size_t len = (size_t)(at - name);
    if (at == end || *at != '"' || len == 0 || len > COLUMN_BYTES_MAX) return false;
    at = skip_space(at + 1, end);
    if (at == end || *at != '}' || skip_space(at + 1, end) != end) return false;
    memcpy(column, name, len);
    column[len] = '\0';
    return true;
}

static bool fail(exports_sluicebox_component_record_transform_error_t *err, const char *words) {
    err->tag = SLUICEBOX_COMPONENT_TYPES_ERROR_FATAL;
    err->val.fatal = text(words);
    return false;
}

static bool is_text_column(const exports_sluicebox_component_record_transform_list_field_t *schema) {
    for (size_t i = 0; i < schema->len; i++) {
        if (same(schema->ptr[i].name, column)) return schema->ptr[i].kind == SLUICEBOX_COMPONENT_RECORD_TYPES_KIND_TEXT;
    }
    return false;
}

bool exports_sluicebox_component_record_transform_open(exports_sluicebox_component_record_transform_context_t *context,
                                                       exports_sluicebox_component_record_transform_list_field_t *schema,
                                                       exports_sluicebox_component_record_transform_transform_plan_t *ret,
                                                       exports_sluicebox_component_record_transform_error_t *err) {
    bool read = read_settings(context->settings);
    bool fits = read && is_text_column(schema);
    exports_sluicebox_component_record_transform_context_free(context);
    exports_sluicebox_component_record_transform_list_field_free(schema);
    if (!read) return fail(err, "settings: expected nothing or `column: <name>`");
    if (!fits) return fail(err, "there is no column of text with the name that setting `column` says (or `tags`)");

    ret->columns.len = 1;
    ret->columns.ptr = allocate(sizeof(string));
    ret->columns.ptr[0] = text(column);
    ret->schema.len = 1;
    ret->schema.ptr = allocate(sizeof(field));
    ret->schema.ptr[0] = (field){.name = text("part"), .kind = SLUICEBOX_COMPONENT_RECORD_TYPES_KIND_TEXT};
    ret->codes.len = 1;
    ret->codes.ptr = allocate(sizeof(string));
    ret->codes.ptr[0] = text("part_too_long");
    ret->attributes.ptr = NULL;
    ret->attributes.len = 0;
    string opened = text("opened");
    sluicebox_component_log_log(SLUICEBOX_COMPONENT_LOG_LEVEL_DEBUG, &opened);
    free(opened.ptr);
    return true;
}

// What goes out, with room for `capacity` rows and origins.
static size_t capacity;

static void emit(exports_sluicebox_component_record_transform_answer_t *answer, uint32_t from, const uint8_t *part, size_t len) {
    if (answer->rows.len == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        answer->rows.ptr = realloc(answer->rows.ptr, capacity * sizeof(row));
        answer->origin.val.rows.ptr = realloc(answer->origin.val.rows.ptr, capacity * sizeof(uint32_t));
        if (answer->rows.ptr == NULL || answer->origin.val.rows.ptr == NULL) __builtin_trap();
    }
    value *values = allocate(sizeof(value));
    values[0].tag = SLUICEBOX_COMPONENT_RECORD_TYPES_VALUE_TEXT;
    values[0].val.text = copy(part, len);
    answer->rows.ptr[answer->rows.len++] = (row){values, 1};
    answer->origin.val.rows.ptr[answer->origin.val.rows.len++] = from;
}

static void refuse(exports_sluicebox_component_record_transform_answer_t *answer, uint32_t from) {
    answer->rejects.ptr = realloc(answer->rejects.ptr, (answer->rejects.len + 1) * sizeof(reject));
    if (answer->rejects.ptr == NULL) __builtin_trap();
    answer->rejects.ptr[answer->rejects.len++] = (reject){
        .row = from, .path = text(column), .code = text("part_too_long"), .message = text("a part has more than 64 bytes")};
}

static void split(exports_sluicebox_component_record_transform_answer_t *answer, uint32_t from, string tags) {
    const uint8_t *at = tags.ptr, *end = tags.ptr + tags.len;
    while (at < end) {
        const uint8_t *comma = memchr(at, ',', (size_t)(end - at));
        const uint8_t *stop = comma == NULL ? end : comma;
        while (at < stop && *at == ' ') at++;
        const uint8_t *last = stop;
        while (last > at && last[-1] == ' ') last--;
        size_t len = (size_t)(last - at);
        if (len > PART_BYTES_MAX) {
            refuse(answer, from);
        } else if (len > 0) {
            emit(answer, from, at, len);
        }
        at = stop + 1;
    }
}

bool exports_sluicebox_component_record_transform_process(exports_sluicebox_component_record_transform_list_row_t *rows,
                                                          exports_sluicebox_component_record_transform_answer_t *ret,
                                                          exports_sluicebox_component_record_transform_error_t *err) {
    (void)err;
    memset(ret, 0, sizeof *ret);
    ret->origin.tag = SLUICEBOX_COMPONENT_TYPES_ORIGIN_ROWS;
    capacity = 0;
    for (size_t i = 0; i < rows->len; i++) {
        value tags = rows->ptr[i].ptr[0];
        if (tags.tag == SLUICEBOX_COMPONENT_RECORD_TYPES_VALUE_TEXT) split(ret, (uint32_t)i, tags.val.text);
    }
    exports_sluicebox_component_record_transform_list_row_free(rows);
    return true;
}
