import { gateChange } from '../../app/gate/gate.ts';
import { packageVersion } from '../../app/package-version.ts';
import { saveReport } from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { type GateView, gateDocument } from '../../reports/documents/gate.ts';
import { printMarkdown } from '../../reports/print/markdown.ts';
import { sarifOf } from '../../reports/sarif.ts';
import type { Run } from '../context.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

/** A refusal counts more than what the device could not run. */
function exitCodeOf({ passes, failing }: GateView): number {
  if (failing.length > 0) return EXIT.judgedFailed;
  return passes ? EXIT.ok : EXIT.deviceOrToolMissing;
}

export const run: Run<RequestOf<'gate'>> = async (request, context) => {
  const asked = await onDevice('gate', request, context);
  const view = await withStatus(context.streams.err, (told) => gateChange({ ...asked, ...told }));
  const { markdown, sarif } = request;
  if (markdown !== undefined) saveReport(markdown, printMarkdown(gateDocument(view)), '--markdown');
  if (sarif !== undefined)
    saveReport(sarif, `${JSON.stringify(sarifOf(view, packageVersion()), undefined, 2)}\n`, '--sarif');
  printResult(context, view, gateDocument);
  return exitCodeOf(view);
};
