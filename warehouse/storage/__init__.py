"""A store as a whole: made anew out of its archive, copied, thinned out, looked after."""
