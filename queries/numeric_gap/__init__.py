"""How far the values of two runs of a program are apart."""
