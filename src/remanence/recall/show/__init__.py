"""Results of recall as tables and pictures, for notebooks and data frames."""
