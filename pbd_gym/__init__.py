"""pbd_gym: Gymnasium environments of cloth, ropes and soft bodies, simulated by XPBD in Warp kernels."""
