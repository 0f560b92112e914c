"""What Hippocrates must show, each with its command.

discovery.py  how well databases are found on 200 simulated ones, beside the method of the thesis
thesis.py     that method
"""
