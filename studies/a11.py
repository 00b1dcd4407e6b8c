from neutral import neutral
from pbd_gym.sim.upload import fluid_bodies as fb
fb.FELT=0.82
P=(-.06,-.02,.02,.06)
for q in (.01,.007,.013):
    for y0 in (.075,.0875): neutral(sub=4, pushes=P, spacing=q, y0=y0, last=30)
neutral(sub=4, pushes=P, sp=.0075, last=30)
neutral(sub=4, pushes=P, body="soft", last=30)
