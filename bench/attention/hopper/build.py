import json,subprocess,sys,os
from concurrent.futures import ThreadPoolExecutor
spec=json.load(open(sys.argv[1])); job=sys.argv[2]
os.makedirs(f"{job}/cubins",exist_ok=True)
def go(c):
    n=c["name"]
    d=dict(HEAD_DIM=c["D"],CONSUMERS=c["C"],BLOCK_N=c["N"],STAGES=c.get("stages",2),**c.get("defs",{}))
    src=c.get("src","attn.cu")
    out=f"{job}/cubins/{n}.cubin"
    r=subprocess.run(["nvcc","-O3","-std=c++17","-gencode=arch=compute_90a,code=sm_90a","-cubin","-Xptxas","-v",*[f"-D{k}={v}" for k,v in d.items()],"-o",out,src],capture_output=True,text=True)
    t=r.stdout+r.stderr
    import re
    info=" ".join(re.findall(r"Used \d+ registers|\d+ bytes spill stores|C75\d+|error.*",t))
    print(n,info,flush=True)
    k=dict(name=n,cubin=f"cubins/{n}.cubin",D=c["D"],M=64*c["C"],N=c["N"],stages=c.get("stages",2),threads=128*c["C"]+32*c.get("defs",{}).get("PRODUCER_WARPS",4),ctas=c.get("defs",{}).get("CTAS",1))
    for x in ("persistent","verbose","only","same_as","promo","q2"): 
        if x in c:k[x]=c[x]
    return k if r.returncode==0 else None
with ThreadPoolExecutor(2) as p: ks=[k for k in p.map(go,spec["kernels"]) if k]
extra=[]
for c in spec["kernels"]:
    if c.get("also_grid"):
        k=[x for x in ks if x["name"]==c["name"]]
        if k: extra.append(dict(k[0],name=c["name"]+"-grid",persistent=0,same_as=c["name"]))
json.dump(dict(spec,kernels=ks+extra),open(f"{job}/configs.json","w"),indent=1)
