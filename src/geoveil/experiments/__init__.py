"""The paper's experiments, reproduced and extended: its figures on real taxi data, with its methods and ours."""
