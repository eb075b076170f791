"""Google Cloud and TPU hosts for one machine: it shows and tests the product."""
