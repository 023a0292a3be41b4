import type { DeviceSpec } from '../core/device-spec.ts';
import { H200 } from './specs/h200.ts';
import { L4 } from './specs/l4.ts';

/** Every known device, by id (`virtual:l4` is the virtual device with spec `l4`). */
export const DEVICE_SPECS: ReadonlyMap<string, DeviceSpec> = new Map([L4, H200].map((spec) => [spec.id, spec]));
