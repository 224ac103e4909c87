"""The Stewart platform: noisy leg lengths in, poses with covariance out."""
