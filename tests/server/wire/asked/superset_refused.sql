-- sent by Apache Superset 6.1 for previews, raw rows and datasets of rows: refused, and free
SELECT
  *
FROM public.patients
LIMIT 1001;

SELECT
  age AS age,
  ward AS ward
FROM public.patients
LIMIT 1000;

SELECT
  age AS age
FROM public.patients
LIMIT 1000;

SELECT
  age,
  ward
FROM patients
WHERE
  age >= 18
LIMIT 1;

SELECT
  *
FROM public.patients
LIMIT 101;

SELECT
  age AS age,
  ward AS ward,
  zip AS zip,
  born AS born
FROM public.patients
LIMIT 1000;
