"""Benchmarks of Hippocrates on simulated databases.

network.py    generates the simulated databases and the demo catalogue
discovery.py  measures the search for databases among 200 simulated databases, compared with the method of the thesis
thesis.py     the method of the thesis
"""
