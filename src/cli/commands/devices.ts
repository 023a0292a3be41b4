import { type DevicesReport, devices } from '../../app/devices.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { type Document, documentOf, names, table, words } from '../../reports/document.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

const devicesDocument = (report: DevicesReport): Document =>
  documentOf('Devices', [
    table('Devices', report.devices, [
      names('id', ({ id }) => id),
      words('name', ({ name }) => name),
      names('kind', ({ kind }) => kind),
      names('available', ({ available }) => (available ? 'yes' : 'no')),
    ]),
  ]);

export const run: Run<RequestOf<'devices'>> = async (_request, context) => {
  printResult(context, devices(), devicesDocument);
  return EXIT.ok;
};
