import { devices } from '../../app/devices.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { textTable } from '../../reports/table.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'devices'>> = async (_request, { streams, json }) => {
  const report = devices();
  if (json) {
    printJson(streams, report);
    return EXIT.ok;
  }
  const rows = report.devices.map(({ id, name, kind, available }) => [id, name, kind, available ? 'yes' : 'no']);
  const columns = [{ title: 'id' }, { title: 'name' }, { title: 'kind' }, { title: 'available' }];
  streams.out.write(`${textTable(columns, rows, (text) => paintFor(streams.out)('bold', text))}\n`);
  return EXIT.ok;
};
