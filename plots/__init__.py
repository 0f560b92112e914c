"""Plots for report pages: `drawing` makes them with matplotlib, as SVG without fixed colours."""
