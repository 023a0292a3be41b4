/** The header pack lies outside the kernel's folder; its lines are attributed to the user's calling line. */
export const isUserFile = (path: string): boolean => !path.includes('warpsmith-headers') && !path.startsWith('/');
