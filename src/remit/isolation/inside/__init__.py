"""Programs that run inside a cell. They import nothing of remit's and need the interpreter only."""
