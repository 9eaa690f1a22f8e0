"""Which device, build and model a dump is from: what is stated, where, and by what rule."""
