import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listDevices } from '../../../src/devices/open-device.ts';
import { repository, runCli } from '../../cli/run-cli.ts';
import { python } from './support.ts';

const hasGpu = listDevices().some(({ kind }) => kind === 'cuda');
// `runCli` hides the GPUs of this process.
const environment = { ...process.env };
const hasTorch = hasGpu && spawnSync(python!, ['-c', 'import torch; assert torch.cuda.is_available()']).status === 0;

describe.skipIf(!hasTorch)('a package of attention kernels (skipped without an NVIDIA GPU and PyTorch)', () => {
  it('does in PyTorch what SDPA does', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warpsmith-torch-'));
    try {
      const here = join(repository, 'test/handover/torch');
      const table = spawnSync(process.execPath, [join(here, 'write-table.ts'), join(folder, 'table')]);
      expect(table.status).toBe(0);
      const words = ['--torch', join(folder, 'package'), '--name', 'attention_table', '--arch', 'sm_90a'];
      expect(await runCli(['export', join(folder, 'table'), ...words])).toMatchObject({ code: 0 });
      const report = join(folder, 'report.json');
      spawnSync(python!, [join(here, 'on_gpu.py'), join(folder, 'package'), report], {
        timeout: 240_000,
        env: environment,
      });
      const { checks } = JSON.parse(readFileSync(report, 'utf8')) as { checks: { name: string; passed: boolean }[] };
      expect(checks.length).toBeGreaterThan(10);
      expect(checks.filter(({ passed }) => !passed)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
