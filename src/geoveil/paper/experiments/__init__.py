"""The paper's experiments, reproduced and extended: its figures on taxi data, by its methods and by geoveil's."""
