import sys,subprocess,pickle,glob,os,re,collections
out=sys.argv[1]; marker=(sys.argv[2] if len(sys.argv)>2 else "rank_of").encode()
regs=pickle.load(open(out+".mem","rb"))
ips=[int(l.split()[-1],16) for l in subprocess.run(["perf","script","-i",out+".data","-F","ip"],capture_output=True,text=True).stdout.splitlines() if l.strip()]
cand=sorted(glob.glob("/tmp/cache/shared/warp/1.19.0/*step_*/*.o"),key=os.path.getmtime)[-400:]
tot=len(ips); best=(0,)
for o in cand:
    data=open(o,"rb").read()
    if marker not in data: continue
    secs={}
    for l in subprocess.run(["objdump","-h","-w",o],capture_output=True,text=True).stdout.splitlines():
        f=l.split()
        if len(f)>=7 and f[0].isdigit() and "CODE" in l: secs[f[1]]=(int(f[2],16),int(f[5],16))
    syms=[]
    for l in subprocess.run(["objdump","-t","-w",o],capture_output=True,text=True).stdout.splitlines():
        m=re.match(r"([0-9a-f]+) .{7} (\S+)\s+([0-9a-f]+) (?:\.hidden )?(\S+)$",l)
        if m and m[2] in secs and int(m[3],16)>0: syms.append((m[2],int(m[1],16),int(m[3],16),m[4]))
    found=[]; score=0
    bases={}
    for sec,(size,off) in secs.items():
        votes=collections.Counter()
        for pr in range(0,max(size-24,1),211):
            ch=data[off+pr:off+pr+24]
            if len(ch)<24: continue
            for lo,b in regs:
                k=b.find(ch)
                if k>=0 and b.find(ch,k+1)<0: votes[lo+k-pr]+=1
        if votes:
            base,v=votes.most_common(1)[0]; bases[sec]=base; score+=v
    if score>best[0]: best=(score,o,bases,syms,secs)
score,o,bases,syms,secs=best
print(o,score,"samples",tot)
c=collections.Counter(); fine={}
for i in ips:
    for sec,a,s,name in syms:
        if sec in bases and bases[sec]+a<=i<bases[sec]+a+s:
            c[(sec,a,s,name)]+=1; fine.setdefault((sec,a,s,name),collections.Counter())[i-bases[sec]]+=1; break
    else: c["other"]+=1
for k,v in c.most_common(22):
    name=k if k=="other" else subprocess.run(["c++filt",k[3]],capture_output=True,text=True).stdout.strip()
    name=re.sub(r"<.*>","<>",name)
    print(f"{100*v/tot:5.1f}%  {name[:110]}  size {'' if k=='other' else k[2]}")
pickle.dump((o,fine),open(out+".fine","wb"))
