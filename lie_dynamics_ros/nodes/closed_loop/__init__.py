"""All joints, the platform and the efforts of motors of a closed mechanism from the joints that are measured."""
