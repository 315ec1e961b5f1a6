"""Drafting: a plan bundle from what is there already, with every gap marked and nothing made up."""
