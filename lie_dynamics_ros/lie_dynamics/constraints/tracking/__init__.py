"""All joints of a closed mechanism from those that are measured, from one sample to the next."""
