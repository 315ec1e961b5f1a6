"""The pure core: it decides and folds, and touches nothing outside its arguments."""
