"""From best.json: kernel folders with those defaults, for warpsmith measure; and ncu of the best at b1h8s512 and b1h1s128."""
import json, os, shutil, subprocess, sys
HERE = os.path.dirname(os.path.abspath(__file__)); OUT = os.environ['JOB_OUT']
best = json.load(open(f'{OUT}/best.json'))
NAMES = {'b1h1s32':'b1h1s32d64','b1h1s128':'b1h1s128d64','b1h1s128c':'b1h1s128d64-causal','b1h1s512':'b1h1s512d64','b1h8s512':'b1h8s512d64','b1h8s512c':'b1h8s512d64-causal','b32h8s128':'b32h8s128d64','b1h8s2048':'b1h8s2048d64','b32h8s512':'b32h8s512d64'}
def folder(w, kern):
    values = best[w][kern]; name = f'x_{kern}_{w}'; to = f'{HERE}/attention/{name}'
    shutil.rmtree(to, ignore_errors=True); shutil.copytree(f'{HERE}/attention/{kern}', to)
    k = json.load(open(f'{to}/kernel.json')); k['name'] = name
    for n, x in values.items(): k['parameters'][n]['default'] = x
    json.dump(k, open(f'{to}/kernel.json','w')); return to
WS = os.environ['WS'].split()
if sys.argv[1] == 'measure':
    for w in sys.argv[2].split(','):
        kerns = [k for k in sys.argv[3].split(',') if k in best[w]]
        cmd = WS + ['measure', f'{HERE}/attention', '--device','cuda:0','--workload',NAMES[w],'--baseline','sdpa','--baseline','sdpa-flash','--baseline','sdpa-cudnn','--json'] + sys.argv[4:]
        for k in kerns: cmd += ['--kernel', folder(w, k)]
        if w == 'b1h1s32': cmd += ['--baseline','sdpa-efficient']
        try: r = subprocess.run(cmd, capture_output=True, text=True, timeout=45)
        except subprocess.TimeoutExpired: print('TIMEOUT', w); continue
        open(f'{OUT}/measure-{w}.json','w').write(r.stdout); print(w, r.returncode, r.stderr[-600:], r.stdout[:200].replace('\n',' '))
else:
    w, kern = sys.argv[2], sys.argv[3]
    B,H,S,c = {'b1h8s512':(1,8,512,0),'b1h1s128':(1,1,128,0),'b32h8s128':(32,8,128,0)}[w]
    k = json.load(open(f'{HERE}/attention/{kern}/kernel.json')); v = best[w][kern]
    tag = kern + ''.join(f'_{n}{x}' for n, x in v.items())
    rep = f'/tmp/mma-sweep/{w}-{kern}'
    run = ['python3',f'{HERE}/one.py',tag,str(B),str(H),str(S),str(c),json.dumps(k['steps'][1]),json.dumps(v)]
    r = subprocess.run(['ncu','-f','-o',rep,'--clock-control','none','--cache-control','none','--set','full','--section','PmSampling','--sampling-interval','0','--launch-skip','2','--launch-count','1','-k','regex:attention']+run, capture_output=True, text=True, timeout=60)
    print(r.stdout[-300:], r.stderr[-300:])
    for page in ('details','source'):
        r = subprocess.run(['ncu','--import',rep+'.ncu-rep','--page',page]+(['--csv','--print-source','sass'] if page=='source' else []), capture_output=True, text=True, timeout=60)
        open(f'{OUT}/ncu-{w}-{kern}-{page}.txt','w').write(r.stdout + r.stderr)
    r = subprocess.run(['ncu','--import',rep+'.ncu-rep','--page','raw','--csv'], capture_output=True, text=True, timeout=60)
    open(f'{OUT}/ncu-{w}-{kern}-raw.txt','w').write(r.stdout)
    r = subprocess.run(['cuobjdump','-sass',f'/tmp/mma-sweep/{tag}.cubin'], capture_output=True, text=True)
    open(f'{OUT}/sass-{w}-{kern}.txt','w').write('\n'.join(l for l in r.stdout.split('\n') if ';' in l)); print('ncu', w, kern, r.returncode)
