import { randomBytes } from 'node:crypto';
import { carriesToken, LOOPBACK, tokenNeeded } from '../process/loopback.ts';
import { REPORT_SOURCES } from '../reports/print/html.ts';

/** Names of this machine that a browser may have been told. */
const HOSTS = [LOOPBACK, 'localhost'];

/** What a client gets that reached this server by another name, as a page can that rebinds its own; undefined for others. */
export function refusalOfHost({ headers }: Request, port: number): Response | undefined {
  const host = headers.get('host') ?? '';
  if (!HOSTS.some((name) => host === `${name}:${port}`)) return refused(`The host ${shown(host)} is not served here.`);
  return undefined;
}

/** What a page of another site gets, or a client without the token; undefined for the page itself. */
export function refusalOfOthers(request: Request, token: string): Response | undefined {
  const { headers } = request;
  const [host, origin] = [headers.get('host'), headers.get('origin')];
  if (origin !== null && origin !== `http://${host}`)
    return refused(`The origin ${shown(origin)} may ask nothing here.`);
  const site = headers.get('sec-fetch-site') ?? 'none';
  if (site !== 'same-origin' && site !== 'none') return refused('Another site may ask nothing here.');
  return carriesToken(request, token) ? undefined : tokenNeeded();
}

const MOST_SHOWN = 80;
const shown = (text: string): string => JSON.stringify(text.slice(0, MOST_SHOWN));
const refused = (text: string): Response => new Response(text, { status: 403 });

/** Lets the editor add its styles, which are known only once it runs. */
export const drawNonce = (): string => randomBytes(16).toString('base64');

/** The page's own files, the script and style of reports, and the editor's styles: nothing else runs, loads or frames. */
const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${REPORT_SOURCES.script}`,
    `style-src 'self' 'nonce-${nonce}' ${REPORT_SOURCES.style}`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Headers of every answer. */
export const securityHeaders = (nonce: string): Readonly<Record<string, string>> => ({
  'content-security-policy': policy(nonce),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
});
