import pickle,subprocess,sys,re,collections
o,fine=pickle.load(open(sys.argv[1]+".fine","rb")); pat=sys.argv[2]
for (sec,a,s,name),c in fine.items():
    if pat in name:
        out=subprocess.run(["objdump","-d","--no-show-raw-insn","-j",sec,f"--start-address={a}",f"--stop-address={a+s}",o],capture_output=True,text=True).stdout
        ins=[(int(m[1],16),m[2]) for m in re.finditer(r"^\s+([0-9a-f]+):\s+(.*)$",out,re.M)]
        tot=sum(c.values()); b=collections.Counter()
        acc=0; k0=0
        kinds=collections.Counter(i.split()[0] for _,i in ins)
        print(name[:60],tot,kinds.most_common(14))
        B=40
        for k in range(0,len(ins),B):
            n=sum(c.get(x,0) for x,_ in ins[k:k+B])
            kk=collections.Counter(i.split()[0] for _,i in ins[k:k+B])
            if n>tot*.01: print(k,n,kk.most_common(6))
