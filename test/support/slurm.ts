import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Tests install nothing. */
const PROGRAMS = { munged: '/usr/sbin/munged', slurmctld: '/usr/sbin/slurmctld', slurmd: '/usr/sbin/slurmd' };
const isRoot = userInfo().uid === 0;
const isInstalled = Object.values(PROGRAMS).every((path) => existsSync(path)) && existsSync('/usr/bin/sbatch');

/** For the title of tests, which say so when they are skipped. */
export const slurmHere =
  isInstalled && isRoot
    ? { title: 'with slurmctld, slurmd and fake GPUs', isThere: true }
    : {
        title: `with Slurm (skipped: ${isInstalled ? 'its daemons need root' : 'it is not installed'})`,
        isThere: false,
      };

export interface Slurm {
  /** Names its configuration. */
  readonly environment: { readonly SLURM_CONF: string };
  close(): Promise<void>;
}

/** A cluster of this machine alone, with as many GPUs as files say. */
export async function startSlurm(gpus: number, [controllerPort, nodePort] = [16_917, 16_918]): Promise<Slurm> {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-slurm-'));
  for (const name of ['state', 'spool', 'dev', 'run']) mkdirSync(join(folder, name));
  for (let gpu = 0; gpu < gpus; gpu += 1) writeFileSync(join(folder, `dev/nvidia${gpu}`), '');
  writeFileSync(join(folder, 'munge.key'), randomBytes(128), { mode: 0o400 });
  const host = hostname();
  const socket = join(folder, 'run/munge.sock');
  const conf = join(folder, 'slurm.conf');
  writeFileSync(
    join(folder, 'gres.conf'),
    `NodeName=${host} Name=gpu Type=h200 File=${folder}/dev/nvidia[0-${gpus - 1}]\n`,
  );
  writeFileSync(
    conf,
    [
      'ClusterName=test',
      `SlurmctldHost=${host}(127.0.0.1)`,
      'AuthType=auth/munge',
      `AuthInfo=socket=${socket}`,
      'CryptoType=crypto/munge',
      ...['SlurmUser=root', 'SlurmdUser=root', `StateSaveLocation=${folder}/state`, `SlurmdSpoolDir=${folder}/spool`],
      ...[`SlurmctldPidFile=${folder}/run/slurmctld.pid`, `SlurmdPidFile=${folder}/run/slurmd.pid`],
      ...[`SlurmctldLogFile=${folder}/slurmctld.log`, `SlurmdLogFile=${folder}/slurmd.log`],
      ...[`SlurmctldPort=${controllerPort}`, `SlurmdPort=${nodePort}`],
      ...['ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none', 'SwitchType=switch/none', 'MpiDefault=none'],
      ...['ReturnToService=2', 'SchedulerType=sched/backfill', 'SelectType=select/cons_tres', 'GresTypes=gpu'],
      ...['SelectTypeParameters=CR_Core', 'SchedulerParameters=sched_interval=2', 'KillWait=5'],
      `NodeName=${host} NodeAddr=127.0.0.1 CPUs=${gpus} RealMemory=1000 Gres=gpu:h200:${gpus} State=UNKNOWN`,
      `PartitionName=gpu Nodes=${host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:${gpus}`,
      '',
    ].join('\n'),
  );
  const environment = { SLURM_CONF: conf };
  const daemons: ChildProcess[] = [];
  const start = (command: string, ...args: string[]): void => {
    const env = { ...process.env, ...environment };
    daemons.push(spawn(command, args, { env, stdio: 'ignore' }));
  };
  const munge = [`--socket=${socket}`, `--key-file=${folder}/munge.key`, `--log-file=${folder}/munged.log`];
  start(
    PROGRAMS.munged,
    '--foreground',
    '--force',
    ...munge,
    `--pid-file=${folder}/run/munged.pid`,
    `--seed-file=${folder}/seed`,
  );
  await until(() => existsSync(socket), 'munged');
  start(PROGRAMS.slurmctld, '-D', '-f', conf);
  start(PROGRAMS.slurmd, '-D', '-f', conf);
  const state = () =>
    spawnSync('sinfo', ['-h', '-o', '%T'], { env: { ...process.env, ...environment }, encoding: 'utf8' });
  await until(() => state().stdout.trim() === 'idle', 'slurmd');
  return {
    environment,
    async close() {
      for (const daemon of daemons.toReversed()) daemon.kill('SIGKILL');
      await sleep(100);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function until(holds: () => boolean, what: string): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    if (holds()) return;
    await sleep(100);
  }
  throw new Error(`${what} does not start`);
}
