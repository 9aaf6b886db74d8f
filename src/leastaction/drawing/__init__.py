"""What pictures (plot/) and pages (page/) share: the runs to show, their names and colours, and a mechanism as points and lines."""
