"""``python -m geoveil.experiments``."""

from geoveil.experiments.command import experiments

if __name__ == "__main__":
    experiments(prog_name="geoveil experiments")
