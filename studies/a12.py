from arch import arch
arch(sub=4)
arch(sub=2, T=3)
