"""The Arrow schemas: the one source of names, types, nullability and meaning of all columns."""
