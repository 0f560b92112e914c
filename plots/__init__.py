"""Draws plots for report pages with matplotlib, as SVG that takes its colours from the page."""
