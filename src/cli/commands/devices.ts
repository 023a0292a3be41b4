import { type DevicesReport, devices } from '../../app/devices.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { type Document, documentOf, names, table, words } from '../../reports/document.ts';
import { printing, type Run } from '../context.ts';

const devicesDocument = (report: DevicesReport): Document =>
  documentOf('Devices', [
    table('Devices', report.devices, [
      names('id', ({ id }) => id),
      words('name', ({ name }) => name),
      names('kind', ({ kind }) => kind),
      names('available', ({ available }) => (available ? 'yes' : 'no')),
    ]),
  ]);

export const run: Run<RequestOf<'devices'>> = printing(devices, devicesDocument);
