import type { DeviceSpec } from '../core/device-spec.ts';
import { A100 } from './specs/a100.ts';
import { H100 } from './specs/h100.ts';
import { H200 } from './specs/h200.ts';
import { L4 } from './specs/l4.ts';
import { RTX4090 } from './specs/rtx4090.ts';

/** If only the architecture is known, the first board of that architecture represents it. */
const SPECS: readonly DeviceSpec[] = [L4, H200, A100, H100, RTX4090];

/** Every known device, by id (`virtual:l4` is the virtual device with spec `l4`). */
export const DEVICE_SPECS: ReadonlyMap<string, DeviceSpec> = new Map(SPECS.map((spec) => [spec.id, spec]));
