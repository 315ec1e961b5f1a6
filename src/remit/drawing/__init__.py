"""Drawing: graphs as SVG, DOT, Mermaid or lines of text; what is drawn is never interpreted."""
