"""Changes of a store besides new dumps: the archive has each as an entry, a rebuild repeats it."""
