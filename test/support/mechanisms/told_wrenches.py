"""Components of wrenches at the platforms of mechanisms by name."""

#: Components that the freedoms of each tell.
FORCES = ("force_x", "force_y", "force_z")
MOMENTS = ("moment_x", "moment_y", "moment_z")
TOLD = {
    "6-UPS": (*MOMENTS, *FORCES),
    "6-UCU": (*MOMENTS, *FORCES),
    "6-RUS": (*MOMENTS, *FORCES),
    "delta": FORCES,
    "linear delta": FORCES,
    "3-RPS": ("moment_x", "moment_y", "force_z"),
    "five-bar": ("force_x", "force_y"),
    "four-bar": ("force_x",),
    "four-bar arm": FORCES,
    "planar 3-RRR": ("moment_z", "force_x", "force_y"),
}
ALL = (*MOMENTS, *FORCES)
