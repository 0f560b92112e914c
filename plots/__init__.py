"""Plots for the pages that reports are: `drawing` draws them with matplotlib, as SVG without colours of its own."""
