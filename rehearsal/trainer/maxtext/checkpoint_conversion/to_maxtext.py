"""`python3 -m maxtext.checkpoint_conversion.to_maxtext key=value ... [--flag=value]`."""

from ..standin.conversion import to_maxtext
from ..standin.program import run

if __name__ == "__main__":
    run("hf-to-mt", to_maxtext)
