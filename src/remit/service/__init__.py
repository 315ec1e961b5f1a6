"""The canonical operations, one transaction each; the only caller of stores."""
