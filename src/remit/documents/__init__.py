"""Documents that people write: read from YAML or JSON, with every fault at its line and column."""
