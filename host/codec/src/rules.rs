//! What the decoder answers where JSON, or a type, leaves a question open. Each rule stands here once, and is the same in every step.
