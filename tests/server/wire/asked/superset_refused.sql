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
