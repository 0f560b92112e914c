"""What Hippocrates must show, each with its command.

network.py    the simulated databases, and the demo catalogue
discovery.py  how well databases are found on 200 simulated ones, beside the method of the thesis
thesis.py     that method
"""
