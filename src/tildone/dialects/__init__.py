"""The words that models write and read, one module a dialect."""
