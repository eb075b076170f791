"""`python3 -m maxtext.trainers.post_train.sft.train_sft key=value ...`."""

from ....standin.program import run
from ....standin.training import train

if __name__ == "__main__":
    run("sft", train)
