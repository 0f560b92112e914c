"""Families of attacks, each as a suite that is generated from its parts."""
