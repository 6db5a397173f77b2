"""Chapters that keep to the recipe of CONTRIBUTING; the others follow one by one."""

THIN = ["04_shrinking_the_average"]
