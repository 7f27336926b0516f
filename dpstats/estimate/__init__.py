"""Private numbers in, estimates out: pure functions on arrays that never see a private row.

Everything here is post-processing of releases and of public numbers, and costs no privacy.
"""
