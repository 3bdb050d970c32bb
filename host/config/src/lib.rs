//! Configuration: YAML text to Document to Spec.
